#include "kernel/arith.h"

#include "base/log.h"

#include <string.h>

/* ---- Blocks ---- */

iso_blocks_t iso_blocks_of_matmul(int64_t k)
{
    return iso_blocks_of_conv(k, 1);
}

/* Blocks that one channel is cut into when it does not fit in one. */
static int64_t blocks_of_channel(int64_t taps)
{
    return (taps + ISO_BLOCK_MOST - 1) / ISO_BLOCK_MOST;
}

iso_blocks_t iso_blocks_of_conv(int64_t channels, int64_t taps)
{
    iso_blocks_t blocks = {.length = channels * taps, .taps = taps};

    ISO_ASSERT(channels >= 0 && taps >= 0);
    if (taps > ISO_BLOCK_MOST) {
        blocks.count = channels * blocks_of_channel(taps);
        return blocks;
    }
    blocks.channels = 1;
    while (taps > 0 && 2 * blocks.channels * taps <= ISO_BLOCK_MOST) {
        blocks.channels *= 2;
    }
    if (blocks.length > 0) {
        blocks.count = (channels + blocks.channels - 1) / blocks.channels;
    }
    return blocks;
}

int64_t iso_blocks_begin(const iso_blocks_t *blocks, int64_t index)
{
    if (blocks->channels > 0) {
        return index * blocks->channels * blocks->taps;
    }

    const int64_t pieces = blocks_of_channel(blocks->taps);

    return index / pieces * blocks->taps + index % pieces * ISO_BLOCK_MOST;
}

int64_t iso_blocks_end(const iso_blocks_t *blocks, int64_t index)
{
    if (index + 1 == blocks->count) {
        return blocks->length;
    }
    return iso_blocks_begin(blocks, index + 1);
}

/* ---- The tree ---- */

/* ---- NaN ---- */

float iso_canonical(float value)
{
    const uint32_t bits = ISO_NAN_BITS;

    if (value != value) {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}
