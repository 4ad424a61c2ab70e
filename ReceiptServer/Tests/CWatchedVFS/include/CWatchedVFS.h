#pragma once

/// What SQLite asks of the operating system.
enum watched_kind {
    watched_open, watched_opened, watched_close, watched_read, watched_write, watched_truncate, watched_sync,
    watched_size, watched_lock, watched_unlock, watched_delete, watched_access, watched_shm_map, watched_shm_lock,
    /// A folder is synced, within `watched_sync` or `watched_delete` of the same thread.
    watched_folder_sync,
};

struct watched_call {
    enum watched_kind kind;
    /// Of calls that name a file.
    const char *path;
    /// The number that the callback gave the file when it was opened.
    long long file;
    /// The place of a write, or the size of `watched_truncate`.
    long long offset;
    const void *bytes;
    int length;
    /// Of a write that fails: the bytes that are written nevertheless.
    int written;
};

/// Returns 0, or the error that SQLite is to see instead of the call.
typedef int (*watched_callback)(void *context, struct watched_call *call);

/// Makes a VFS over that of the system, whose calls are shown to a callback before they are made. Returns `NULL`
/// without memory.
///
/// It stays registered until `watched_vfs_free`; all its files must be closed before.
void *watched_vfs_make(const char *name, watched_callback callback, void *context);
void watched_vfs_free(void *vfs);
