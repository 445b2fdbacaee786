#include "files.h"

#include "file.h"
#include "secret.h"
#include "yaml_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_MAX ((size_t)1024 * 1024)

struct span
files_place(const struct policy *policy, const struct policy_cluster *cluster,
    const char *section, const char *key)
{
    const struct yaml *node =
        yaml_find(yaml_find(policy->tree, "clusters"), cluster->name);
    const struct yaml *named = yaml_find(yaml_find(node, section), key);

    if (named != NULL && named->kind == YAML_MAP)
        named = yaml_find(named, "file");
    return named != NULL ? named->at : node->key_at;
}

static void
report(struct findings *found, struct span at, const char *path, bool private,
    const struct err *err)
{
    const char *code = err->kind == ERR_MISSING             ? "KP090"
                       : err->kind == ERR_CONFIG && private ? "KP092"
                                                            : "KP091";

    findings_add(found, code, SEVERITY_REFUSE, at, "%s", err->text);
    if (strcmp(code, "KP092") == 0)
        findings_remedy(found,
            "chmod 0600 %s\n"
            "# or, where the agent runs as the user kedge:\n"
            "chown root:kedge %s && chmod 0640 %s",
            path, path, path);
    else if (strcmp(code, "KP090") == 0 && private)
        findings_remedy(found,
            "correct the path, or put it there, as in\n"
            "install -m 0600 FILE %s\n"
            "# or, where the agent runs as the user kedge:\n"
            "install -o root -g kedge -m 0640 FILE %s",
            path, path);
    else if (strcmp(code, "KP090") == 0)
        findings_remedy(found,
            "correct the path, or put it there, as in\n"
            "install -m 0644 FILE %s",
            path);
    else
        findings_remedy(found,
            "# who may come to it, folder by folder:\n"
            "namei -l %s",
            path);
}

static void
check_plain(struct findings *found, struct span at, const char *path)
{
    struct err err;
    size_t len = 0;
    char *bytes = NULL;

    if (path == NULL)
        return;
    bytes = file_read(path, PEM_MAX, &len, &err);
    if (bytes == NULL)
        report(found, at, path, false, &err);
    free(bytes);
}

/* There, a file, and nobody else's to read.  What is in a key is for whoever
 * knows keys. */
static bool
check_private(struct findings *found, struct span at, const char *path)
{
    struct err err;
    bool ok = false;
    int fd = -1;

    if (path == NULL)
        return false;
    fd = file_open(path, &err);
    if (fd == -1) { /* no file at all is not one that others may read */
        report(found, at, path, err.kind == ERR_MISSING, &err);
        return false;
    }
    ok = file_check_private(fd, path, &err);
    if (!ok)
        report(found, at, path, true, &err);
    close(fd);
    return ok;
}

static void
check_password(struct findings *found, struct span at, const char *path)
{
    struct err err;
    struct secret *secret = NULL;

    if (!check_private(found, at, path))
        return;
    secret = secret_from_file(path, &err);
    if (secret == NULL && err.kind == ERR_CONFIG) {
        findings_add(found, "KP091", SEVERITY_REFUSE, at, "%s", err.text);
        findings_remedy(found,
            "put the password into %s, one line and nothing else", path);
    } else if (secret == NULL) {
        report(found, at, path, false, &err);
    }
    secret_free(secret);
}

void
files_check(const struct policy *policy, struct findings *found)
{
    for (size_t i = 0; i < policy->n_clusters; i++) {
        const struct policy_cluster *cluster = &policy->clusters[i];
        const struct policy_tls *tls = &cluster->tls;

        check_plain(found, files_place(policy, cluster, "tls", "ca"), tls->ca);
        check_plain(found, files_place(policy, cluster, "tls", "cert"),
            tls->cert);
        (void)check_private(found, files_place(policy, cluster, "tls", "key"),
            tls->key);
        check_password(found, files_place(policy, cluster, "sasl", "password"),
            cluster->sasl.password_file);
    }
}
