#include "exec/progress.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const double terminal_period_s = 0.5;
static const double log_period_s = 60;

void iso_progress_begin(iso_progress_t *progress, int64_t begin,
                        int64_t samples)
{
    *progress = (iso_progress_t){
        .samples = samples,
        .begin = begin,
        .begin_s = iso_clock_s(),
        .terminal = isatty(STDERR_FILENO) == 1,
    };
    progress->shown_s = progress->begin_s;
}

void iso_progress_update(iso_progress_t *progress, int64_t done)
{
    double now_s = iso_clock_s();
    double period_s = progress->terminal ? terminal_period_s : log_period_s;
    double spent_s = now_s - progress->begin_s;
    char left[ISO_TEXT_NUMBER_BYTES];

    if (now_s - progress->shown_s < period_s || done == 0) {
        return;
    }
    double rate = (double)(done - progress->begin) / spent_s;

    (void)iso_text_seconds((double)(progress->samples - done) / rate, left);
    progress->shown_s = now_s;
    if (progress->terminal) {
        (void)fprintf(stderr,
                      "\r%" PRId64 " of %" PRId64
                      " samples, %.1f/s, %s left\033[K",
                      done, progress->samples, rate, left);
        progress->shown = true;
    } else {
        iso_log(ISO_LOG_NOTE,
                "%" PRId64 " of %" PRId64 " samples, %.1f/s, %s left", done,
                progress->samples, rate, left);
    }
}

void iso_progress_end(iso_progress_t *progress)
{
    if (progress->shown) {
        (void)fputs("\r\033[K", stderr);
        progress->shown = false;
    }
}
