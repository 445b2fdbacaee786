#include "admin.h"

#include "adminsocket.h"

#include <assert.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORTS 2 /* the Unix socket and TCP */

/* One listening socket. */
struct port {
    const struct admin *admin;
    bool metrics_only;
    struct MHD_Daemon *daemon;
};

/* All of it is own to the main thread. */
struct admin {
    const struct endpoint_ops *ops;
    void *self;
    char *path; /* of the file that we made, or NULL */
    ino_t inode;
    unsigned tcp_port;
    struct port ports[PORTS];
};

/* What a connection carries from the first call for a request to the last. */
struct pending {
    size_t body_len;
};

static enum MHD_Result
send_reply(struct MHD_Connection *connection, struct endpoint_reply *reply)
{
    struct MHD_Response *response;
    enum MHD_Result sent;

    /* From here on the body is the response's; NULL is none. */
    response = MHD_create_response_from_buffer(reply->len, reply->body,
        MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        endpoint_reply_free(reply);
        return MHD_NO; /* the connection is closed */
    }
    if (reply->type != NULL && reply->body != NULL)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
            reply->type);
    if (reply->allow != NULL)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
            reply->allow);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
        "no-store");
    (void)MHD_add_response_header(response, "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'");
    (void)MHD_add_response_header(response, "X-Content-Type-Options",
        "nosniff");
    sent = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return sent;
}

/* A length that is announced and too long is not waited for. */
static size_t
announced(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
        MHD_HTTP_HEADER_CONTENT_LENGTH);
    unsigned long long n = text == NULL ? 0 : strtoull(text, NULL, 10);

    return n > ENDPOINT_BODY_MAX ? ENDPOINT_BODY_MAX + 1 : (size_t)n;
}

static enum MHD_Result
answer(const struct port *port, struct MHD_Connection *connection,
    struct endpoint_request *request)
{
    struct endpoint_reply reply;

    request->metrics_only = port->metrics_only;
    request->accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
        MHD_HTTP_HEADER_ACCEPT);
    request->expand = MHD_lookup_connection_value(connection,
        MHD_GET_ARGUMENT_KIND, "expand");
    endpoint_answer(&reply, port->admin->ops, port->admin->self, request);
    return send_reply(connection, &reply);
}

/* MHD calls it with the headers, then for each piece of the body, then once
 * more.  A body is counted and thrown away: no endpoint reads one.  The eight
 * parameters are MHD's. */
static enum MHD_Result
/* NOLINTNEXTLINE(readability-function-size) */
on_request(void *ctx, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload,
    size_t *upload_len, void **con_cls)
{
    struct endpoint_request request = { .method = method, .path = url };
    struct pending *pending = *con_cls;

    (void)version;
    (void)upload;
    if (pending == NULL) {
        pending = calloc(1, sizeof *pending);
        if (pending == NULL)
            return MHD_NO;
        *con_cls = pending;
        request.body_len = announced(connection);
        if (request.body_len > ENDPOINT_BODY_MAX)
            return answer(ctx, connection, &request);
        return MHD_YES;
    }
    if (*upload_len > 0) {
        pending->body_len += *upload_len;
        *upload_len = 0;
        return pending->body_len > ENDPOINT_BODY_MAX ? MHD_NO : MHD_YES;
    }
    return answer(ctx, connection, &request);
}

static void
on_completed(void *ctx, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
    (void)ctx;
    (void)connection;
    (void)code;
    free(*con_cls);
    *con_cls = NULL;
}

/* What a client does wrong is the client's business, not the log's. */
static void
say_nothing(void *ctx, const char *fmt, va_list args)
{
    (void)ctx;
    (void)fmt;
    (void)args;
}

/* A text with an encoded NUL would end there for us: it stays as it was sent,
 * and fits nothing. */
static size_t
unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx;
    (void)connection;
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

/* Takes `fd`. */
static bool
serve(struct admin *admin, struct port *port, int fd, struct err *err)
{
    port->admin = admin;
    port->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, on_request, port, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_LISTEN_SOCKET,
        fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)ADMIN_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)ADMIN_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_END);
    if (port->daemon != NULL)
        return true;
    close(fd);
    return err_set(err, ERR_IO, "the HTTP server did not start");
}

static bool
serve_socket(struct admin *admin, const struct admin_options *options,
    int handed_in, struct err *err)
{
    int fd = handed_in;
    struct stat st;

    if (fd <= 0) {
        fd = adminsocket_unix(options->socket, err);
        if (fd == -1)
            return false;
        admin->path = strdup(options->socket);
        if (admin->path == NULL || lstat(admin->path, &st) == -1) {
            (void)err_sys(err, ERR_IO, "%s", options->socket);
            close(fd);
            return false;
        }
        admin->inode = st.st_ino;
    }
    return serve(admin, &admin->ports[0], fd, err);
}

static unsigned
port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = { 0 };
    socklen_t len = sizeof address;

    if (getsockname(fd, &address.any, &len) == -1)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
                                                   : address.v4.sin_port);
}

static bool
serve_metrics(struct admin *admin, const struct admin_options *options,
    int handed_in, struct err *err)
{
    int fd = handed_in;

    if (fd <= 0 && options->metrics == NULL)
        return true;
    if (fd <= 0) {
        fd = adminsocket_loopback(options->metrics, err);
        if (fd == -1)
            return false;
    }
    admin->tcp_port = port_of(fd);
    admin->ports[1].metrics_only = true;
    return serve(admin, &admin->ports[1], fd, err);
}

struct admin *
admin_open(const struct admin_options *options, struct err *err)
{
    struct admin *admin = calloc(1, sizeof *admin);
    int socket_fd = options->socket_fd;
    int metrics_fd = options->metrics_fd;

    if (admin == NULL) {
        err_set(err, ERR_MEMORY, "admin socket");
    } else {
        bool ok;

        admin->ops = options->ops;
        admin->self = options->self;
        ok = serve_socket(admin, options, socket_fd, err);
        socket_fd = 0;
        if (ok) {
            ok = serve_metrics(admin, options, metrics_fd, err);
            metrics_fd = 0;
        }
        if (ok)
            return admin;
    }
    if (socket_fd > 0)
        close(socket_fd);
    if (metrics_fd > 0)
        close(metrics_fd);
    admin_close(admin);
    return NULL;
}

void
admin_close(struct admin *admin)
{
    struct stat st;

    if (admin == NULL)
        return;
    for (size_t i = 0; i < PORTS; i++) {
        if (admin->ports[i].daemon != NULL)
            MHD_stop_daemon(admin->ports[i].daemon); /* closes the socket */
    }
    /* Another agent may have put its own in the place by now. */
    if (admin->path != NULL && lstat(admin->path, &st) == 0 &&
        st.st_ino == admin->inode)
        (void)unlink(admin->path);
    free(admin->path);
    free(admin);
}

int
admin_fd(const struct admin *admin, size_t i)
{
    for (size_t p = 0; p < PORTS; p++) {
        const union MHD_DaemonInfo *info;

        if (admin->ports[p].daemon == NULL || i-- > 0)
            continue;
        info = MHD_get_daemon_info(admin->ports[p].daemon,
            MHD_DAEMON_INFO_EPOLL_FD);
        assert(info != NULL);
        return info->epoll_fd;
    }
    return -1;
}

void
admin_run(struct admin *admin)
{
    for (size_t i = 0; i < PORTS; i++) {
        MHD_UNSIGNED_LONG_LONG wait_ms = 0;

        if (admin->ports[i].daemon == NULL)
            continue;
        /* What is ready already does not make the descriptor readable again;
         * a limit, so that no client keeps the loop to itself. */
        for (int turn = 0; turn < 64; turn++) {
            (void)MHD_run(admin->ports[i].daemon);
            if (MHD_get_timeout(admin->ports[i].daemon, &wait_ms) != MHD_YES ||
                wait_ms > 0)
                break;
        }
    }
}

unsigned
admin_metrics_port(const struct admin *admin)
{
    return admin->tcp_port;
}
