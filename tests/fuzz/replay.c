/* replay.c - runs a fuzz target over its saved inputs, as an ordinary test.
 *
 * Linked where libFuzzer is not.  Arguments: folders of inputs (and of
 * folders), or files.  A folder without one input fails, since it would have
 * tested nothing. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 16 << 20 };

static bool
replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *exact = NULL;
    uint8_t *bytes = malloc(INPUT_MAX);
    size_t size;
    bool ok = false;

    if (file == NULL || bytes == NULL)
        goto out;
    size = fread(bytes, 1, INPUT_MAX, file);
    /* A block of just that size, so that a read past the end is seen. */
    exact = malloc(size != 0 ? size : 1);
    if (exact == NULL || ferror(file))
        goto out;
    memcpy(exact, bytes, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    ok = true;
out:
    if (!ok)
        perror(path);
    if (file != NULL)
        (void)fclose(file);
    free(exact);
    free(bytes);
    return ok;
}

static size_t replay(const char *path);

static size_t
replay_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char name[4096];
    size_t n = 0, one;

    if (dir == NULL) {
        perror(path);
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >=
                (int)sizeof name ||
            (one = replay(name)) == 0) {
            n = 0;
            break;
        }
        n += one;
    }
    (void)closedir(dir);
    return n;
}

/* How many inputs there were; 0: none, or one that failed. */
static size_t
replay(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return replay_folder(path); /* as deep as the corpus is */
    return replay_file(path) ? 1 : 0;
}

int
main(int argc, char **argv)
{
    size_t n;

    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER_OR_FILE...\n", argv[0]);
        return 64;
    }
    for (int i = 1; i < argc; i++) {
        n = replay(argv[i]);
        if (n == 0) {
            fprintf(stderr, "%s: no input was replayed\n", argv[i]);
            return 1;
        }
        printf("%s: %zu inputs\n", argv[i], n);
    }
    return 0;
}
