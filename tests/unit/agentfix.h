/* agentfix.h - a policy file in a folder of its own, for the tests of what is
 * made from one. */
#ifndef KEDGE_AGENTFIX_H
#define KEDGE_AGENTFIX_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two plaintext clusters at the agent's own site: no reason has to be given,
 * and nothing is checked but what the test is about. */
#define AGENTFIX_HEAD                                             \
    "version: 1\n"                                                \
    "agent: {site: plant7}\n"                                     \
    "clusters:\n"                                                 \
    "  one: {site: plant7, bootstrap: [127.0.0.1:1], tls: off}\n" \
    "  two: {site: plant7, bootstrap: [127.0.0.1:2], tls: off}\n" \
    "flows:\n"

#define AGENTFIX_FLOW(name, topic) \
    "  " name ": {from: one, to: two, topics: {include: [" topic "]}}\n"

struct agentfix {
    char folder[64];
    char path[80];   /* of the policy */
    char socket[80]; /* for its admin.socket */
};

static inline void
agentfix_new(struct agentfix *fix)
{
    (void)snprintf(fix->folder, sizeof fix->folder, "/tmp/kedge-test-XXXXXX");
    if (mkdtemp(fix->folder) == NULL)
        abort();
    (void)snprintf(fix->path, sizeof fix->path, "%s/p", fix->folder);
    (void)snprintf(fix->socket, sizeof fix->socket, "%s/s", fix->folder);
}

/* A file in the folder; its path into `path` (80 bytes, may be NULL). */
static inline void
agentfix_file(const struct agentfix *fix, const char *name, const char *text,
    mode_t mode, char *path)
{
    char full[80];
    FILE *file;

    (void)snprintf(full, sizeof full, "%s/%s", fix->folder, name);
    file = fopen(full, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0 ||
        chmod(full, mode) == -1)
        abort();
    if (path != NULL)
        memcpy(path, full, sizeof full);
}

/* The policy: the head, what is given, and the admin socket. */
static inline void
agentfix_write(const struct agentfix *fix, const char *flows)
{
    char text[4096];

    (void)snprintf(text, sizeof text, "%s%sadmin: {socket: %s}\n",
        AGENTFIX_HEAD, flows, fix->socket);
    agentfix_file(fix, "p", text, 0600, NULL);
}

/* The folder holds files alone. */
static inline void
agentfix_free(const struct agentfix *fix)
{
    DIR *folder = opendir(fix->folder);
    const struct dirent *entry;

    if (folder == NULL)
        abort();
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this one */
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.' &&
            unlinkat(dirfd(folder), entry->d_name, 0) == -1)
            abort();
    }
    if (closedir(folder) == -1 || rmdir(fix->folder) == -1)
        abort();
}

#endif
