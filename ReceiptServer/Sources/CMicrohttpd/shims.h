// What of GNU libmicrohttpd Swift cannot call: functions with a variable number of arguments, and macros.
#ifndef CMICROHTTPD_SHIMS_H
#define CMICROHTTPD_SHIMS_H

#include <fcntl.h>
#include <linux/filter.h>
#include <microhttpd.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

// Enumerations whose cases Swift does not import under their names.
static const enum MHD_Result http_yes = MHD_YES;
static const enum MHD_Result http_no = MHD_NO;

static const int http_stream = SOCK_STREAM;

static inline int http_socket_open(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// Lets no new connection begin, while those that are being made can still be accepted. The system would cut those that
// it has made when the socket is closed. A filter sees a segment from its TCP header on, and drops it by returning 0.
static inline void http_refuse_new(int listening_socket) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),         // the flags (RFC 9293, 3.1)
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),  // SYN
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  // A system without filters may cut a connection that was made in this moment.
  (void)setsockopt(listening_socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// Accepts a connection and gives it to the daemon; 0 if none waits.
static inline int http_adopt(struct MHD_Daemon *daemon, int listening_socket) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  int fd = accept(listening_socket, (struct sockaddr *)&address, &length);
  if (fd < 0) return 0;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  // It closes the socket where it fails.
  MHD_add_connection(daemon, fd, (struct sockaddr *)&address, length);
  return 1;
}

struct http_options {
  // A socket that listens, and that does not block.
  int listening_socket;
  unsigned int thread_count;
  unsigned int maximum_connection_count;
};

// A path stays as it was received: `%2F` is no separator, and `%00` ends nothing.
static inline size_t http_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  size_t count = 0;
  while (text[count] != 0) count++;
  return count;
}

static inline struct MHD_Daemon *http_start(const struct http_options *options, MHD_AccessHandlerCallback handler,
                                            MHD_RequestCompletedCallback completed,
                                            void *(*target_received)(void *, const char *, struct MHD_Connection *),
                                            MHD_NotifyConnectionCallback connection_changed, void *context) {
  // A daemon without the channel between threads (ITC) cannot be quiesced, and a pool of one thread is refused.
  unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
  struct MHD_OptionItem pool[] = {
      {options->thread_count > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)options->thread_count, 0},
      {MHD_OPTION_END, 0, 0}};
  return MHD_start_daemon(flags, 0, 0, 0, handler, context,                            //
                          MHD_OPTION_LISTEN_SOCKET, options->listening_socket,         //
                          MHD_OPTION_CONNECTION_LIMIT, options->maximum_connection_count, //
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(32 << 10),      //
                          MHD_OPTION_STRICT_FOR_CLIENT, 1,                             //
                          MHD_OPTION_UNESCAPE_CALLBACK, http_keep_escapes, (void *)0,  //
                          MHD_OPTION_URI_LOG_CALLBACK, target_received, context,       //
                          MHD_OPTION_NOTIFY_COMPLETED, completed, context,             //
                          MHD_OPTION_NOTIFY_CONNECTION, connection_changed, context,   //
                          MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
}

static inline int http_has_started(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}

static inline int http_is_complete(enum MHD_RequestTerminationCode code) {
  return code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}

// Makes an answer with a copy of the bytes.
static inline struct MHD_Response *http_response(const void *bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

// Gives memory that was freed back to the kernel. The allocator keeps what was freed in small pieces, as much as the
// largest requests ever took.
static inline void http_return_freed(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

static inline int http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// What the callback for new connections stored.
static inline void *http_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : 0;
}

// How many headers say where the body ends, or for which host the request is. More than one is how requests are
// smuggled past a proxy (RFC 9112, 3.2 and 11.2).
struct http_framing {
  unsigned int count;
  unsigned int host_count;
  int is_chunked;
  // Whether one of them can be understood in two ways: a proxy may ignore the white space after a name, or an unknown
  // coding.
  int is_ambiguous;
  const char *content_length;
};

static inline enum MHD_Result http_count_framing(void *context, enum MHD_ValueKind kind, const char *name,
                                                 const char *value) {
  (void)kind;
  struct http_framing *framing = context;
  if (strcasecmp(name, "content-length") == 0) {
    framing->count++;
    framing->content_length = value;
  } else if (strcasecmp(name, "transfer-encoding") == 0) {
    framing->count++;
    framing->is_chunked = 1;
    if (!value || strcasecmp(value, "chunked") != 0) framing->is_ambiguous = 1;
  } else if (strcasecmp(name, "host") == 0) {
    framing->host_count++;
  } else if (strpbrk(name, " \t")) {
    framing->is_ambiguous = 1;
  }
  return MHD_YES;
}

static inline struct http_framing http_framing(struct MHD_Connection *connection) {
  struct http_framing framing = {0, 0, 0, 0, 0};
  MHD_get_connection_values(connection, MHD_HEADER_KIND, http_count_framing, &framing);
  return framing;
}

// A header or a member of the query, by its name in any case.
struct http_value {
  const char *name;
  // How often it is there.
  unsigned int count;
  // The last one. A member of the query still has its escapes, and without `=` it has no value.
  const char *value;
};

static inline enum MHD_Result http_compare_name(void *context, enum MHD_ValueKind kind, const char *name,
                                                const char *value) {
  (void)kind;
  struct http_value *found = context;
  if (strcasecmp(name, found->name) == 0) {
    found->count++;
    found->value = value;
  }
  return MHD_YES;
}

static inline struct http_value http_find(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                          const char *name) {
  struct http_value found = {name, 0, 0};
  MHD_get_connection_values(connection, kind, http_compare_name, &found);
  return found;
}

static inline struct http_value http_header(struct MHD_Connection *connection, const char *name) {
  return http_find(connection, MHD_HEADER_KIND, name);
}

static inline struct http_value http_query_item(struct MHD_Connection *connection, const char *name) {
  return http_find(connection, MHD_GET_ARGUMENT_KIND, name);
}

#endif
