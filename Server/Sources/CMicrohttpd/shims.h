// What of GNU libmicrohttpd Swift cannot call: functions with a variable number of arguments, and macros.
#ifndef CMICROHTTPD_SHIMS_H
#define CMICROHTTPD_SHIMS_H

#include <microhttpd.h>

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
                                            MHD_NotifyConnectionCallback connection_changed, void *context) {
  // A daemon without the channel between threads (ITC) cannot be quiesced, and a pool of one thread is refused.
  unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
  struct MHD_OptionItem pool[] = {
      {options->thread_count > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)options->thread_count, 0},
      {MHD_OPTION_END, 0, 0}};
  return MHD_start_daemon(flags, 0, 0, 0, handler, context,                                      //
                          MHD_OPTION_LISTEN_SOCKET, options->listening_socket,                   //
                          MHD_OPTION_CONNECTION_LIMIT, options->maximum_connection_count,        //
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(32 << 10),                //
                          MHD_OPTION_STRICT_FOR_CLIENT, 1,                                       //
                          MHD_OPTION_UNESCAPE_CALLBACK, http_keep_escapes, (void *)0,            //
                          MHD_OPTION_NOTIFY_COMPLETED, completed, context,                       //
                          MHD_OPTION_NOTIFY_CONNECTION, connection_changed, context,             //
                          MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
}

static inline int http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// What `MHD_NOTIFY_CONNECTION` stored for the connection.
static inline void *http_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : 0;
}

#endif
