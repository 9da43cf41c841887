/*
 * A folder of its own for a test program that writes files: scratch_begin()
 * makes it and goes there, so that names in tests are plain; it is removed
 * at exit. It holds files only.
 */
#ifndef ISO_TEST_FOLDER_H
#define ISO_TEST_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of entries; they are removed when remove_all. */
static inline int scratch_walk(int remove_all)
{
    int count = 0;
    DIR *folder = opendir(".");

    if (folder == NULL) {
        return -1;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            count++;
            if (remove_all) {
                (void)remove(entry->d_name);
            }
        }
    }
    (void)closedir(folder);
    return count;
}

static inline int scratch_count(void)
{
    return scratch_walk(0);
}

static inline void scratch_clear(void)
{
    (void)scratch_walk(1);
}

static inline void scratch_end(void)
{
    char folder[512];

    if (getcwd(folder, sizeof folder) != NULL) {
        scratch_clear();
        if (chdir("/") == 0) {
            (void)rmdir(folder);
        }
    }
}

static inline void scratch_begin(void)
{
    char folder[512];
    const char *parent = getenv("TMPDIR");

    (void)snprintf(folder, sizeof folder, "%s/isotome-test-XXXXXX",
                   parent == NULL ? "/tmp" : parent);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0 ||
        atexit(scratch_end) != 0) {
        perror(folder);
        exit(EXIT_FAILURE);
    }
}

static inline int scratch_exists(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

/* The whole file, to be freed; NULL when there is none. */
static inline char *scratch_load(const char *path, size_t *size_out)
{
    struct stat info;
    FILE *in = fopen(path, "rb");

    if (in == NULL || fstat(fileno(in), &info) != 0) {
        return NULL;
    }
    char *bytes = malloc((size_t)info.st_size + 1);
    if (bytes != NULL) {
        *size_out = fread(bytes, 1, (size_t)info.st_size, in);
    }
    (void)fclose(in);
    return bytes;
}

static inline void scratch_save(const char *path, const void *bytes,
                                size_t size)
{
    FILE *out = fopen(path, "wb");

    if (out == NULL || fwrite(bytes, 1, size, out) != size ||
        fclose(out) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

#endif
