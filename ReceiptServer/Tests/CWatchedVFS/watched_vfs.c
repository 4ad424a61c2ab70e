#include "CWatchedVFS.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct watched_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
    watched_callback callback;
    void *context;
    char name[];
};

struct watched_file {
    sqlite3_file base;
    struct watched_vfs *vfs;
    long long number;
    sqlite3_file real[];
};

static int report(struct watched_vfs *vfs, enum watched_kind kind, const char *path, long long file) {
    struct watched_call call = {.kind = kind, .path = path, .file = file};
    return vfs->callback(vfs->context, &call);
}

static int ask(sqlite3_file *file, enum watched_kind kind) {
    struct watched_file *watched = (struct watched_file *)file;
    return report(watched->vfs, kind, NULL, watched->number);
}

static sqlite3_file *real(sqlite3_file *file) { return ((struct watched_file *)file)->real; }

/// The VFS whose call this thread makes: SQLite's own syncs a folder without a call of the VFS.
static _Thread_local struct watched_vfs *current;
static int (*open_folder)(const char *, int *);

static int watched_open_folder(const char *path, int *descriptor) {
    int result = open_folder(path, descriptor);
    if (result == SQLITE_OK && current) report(current, watched_folder_sync, path, -1);
    return result;
}

// MARK: A file

static int file_close(sqlite3_file *file) {
    ask(file, watched_close);
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset) {
    int result = ask(file, watched_read);
    return result ? result : real(file)->pMethods->xRead(real(file), bytes, length, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    struct watched_file *watched = (struct watched_file *)file;
    struct watched_call call = {
        .kind = watched_write, .file = watched->number, .offset = offset, .bytes = bytes, .length = length};
    int result = watched->vfs->callback(watched->vfs->context, &call);
    if (result && call.written == 0) return result;
    int written = real(file)->pMethods->xWrite(real(file), bytes, result ? call.written : length, offset);
    return result ? result : written;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct watched_file *watched = (struct watched_file *)file;
    struct watched_call call = {.kind = watched_truncate, .file = watched->number, .offset = size};
    int result = watched->vfs->callback(watched->vfs->context, &call);
    return result ? result : real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    int result = ask(file, watched_sync);
    if (result) return result;
    current = ((struct watched_file *)file)->vfs;
    result = real(file)->pMethods->xSync(real(file), flags);
    current = NULL;
    return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    int result = ask(file, watched_size);
    return result ? result : real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int lock) {
    int result = ask(file, watched_lock);
    return result ? result : real(file)->pMethods->xLock(real(file), lock);
}

static int file_unlock(sqlite3_file *file, int lock) {
    int result = ask(file, watched_unlock);
    int unlocked = real(file)->pMethods->xUnlock(real(file), lock);
    return result ? result : unlocked;
}

static int file_is_reserved(sqlite3_file *file, int *isReserved) {
    return real(file)->pMethods->xCheckReservedLock(real(file), isReserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    int result = ask(file, watched_shm_map);
    return result ? result : real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    // A lock that is given back is given back.
    int result = flags & SQLITE_SHM_LOCK ? ask(file, watched_shm_lock) : SQLITE_OK;
    return result ? result : real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int file_shm_unmap(sqlite3_file *file, int isDeleted) {
    return real(file)->pMethods->xShmUnmap(real(file), isDeleted);
}

/// Version 2: SQLite maps no file, and reads each page by a call.
static const sqlite3_io_methods methods = {
    2, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock,
    file_is_reserved, file_control, file_sector_size, file_characteristics, file_shm_map, file_shm_lock,
    file_shm_barrier, file_shm_unmap, NULL, NULL,
};

// MARK: Files

static struct watched_vfs *watched(sqlite3_vfs *vfs) { return (struct watched_vfs *)vfs; }

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *found) {
    struct watched_file *opened = (struct watched_file *)file;
    file->pMethods = NULL;
    int result = report(watched(vfs), watched_open, path, -1);
    if (result) return result;
    opened->vfs = watched(vfs);
    result = watched(vfs)->real->xOpen(watched(vfs)->real, path, opened->real, flags, found);
    if (opened->real->pMethods) file->pMethods = &methods;
    if (result) return result;
    struct watched_call call = {.kind = watched_opened, .path = path, .file = -1};
    watched(vfs)->callback(watched(vfs)->context, &call);
    opened->number = call.file;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int isSynced) {
    int result = report(watched(vfs), watched_delete, path, -1);
    if (result) return result;
    current = watched(vfs);
    result = watched(vfs)->real->xDelete(watched(vfs)->real, path, isSynced);
    current = NULL;
    return result;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *found) {
    int result = report(watched(vfs), watched_access, path, -1);
    return result ? result : watched(vfs)->real->xAccess(watched(vfs)->real, path, flags, found);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int size, char *full) {
    return watched(vfs)->real->xFullPathname(watched(vfs)->real, path, size, full);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *bytes) {
    return watched(vfs)->real->xRandomness(watched(vfs)->real, size, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
    return watched(vfs)->real->xSleep(watched(vfs)->real, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *time) {
    return watched(vfs)->real->xCurrentTime(watched(vfs)->real, time);
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *text) {
    return watched(vfs)->real->xGetLastError(watched(vfs)->real, size, text);
}

void *watched_vfs_make(const char *name, watched_callback callback, void *context) {
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    struct watched_vfs *made = calloc(1, sizeof(struct watched_vfs) + strlen(name) + 1);
    if (!made || !system) {
        free(made);
        return NULL;
    }
    made->real = system;
    made->callback = callback;
    made->context = context;
    strcpy(made->name, name);
    made->base = (sqlite3_vfs){
        .iVersion = 1, .szOsFile = (int)sizeof(struct watched_file) + system->szOsFile,
        .mxPathname = system->mxPathname, .zName = made->name, .xOpen = vfs_open, .xDelete = vfs_delete,
        .xAccess = vfs_access, .xFullPathname = vfs_full_path, .xRandomness = vfs_randomness, .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time, .xGetLastError = vfs_error,
    };
    sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
    sqlite3_mutex_enter(mutex);
    if (!open_folder) {
        open_folder = (int (*)(const char *, int *))system->xGetSystemCall(system, "openDirectory");
        system->xSetSystemCall(system, "openDirectory", (sqlite3_syscall_ptr)watched_open_folder);
    }
    sqlite3_mutex_leave(mutex);
    sqlite3_vfs_register(&made->base, 0);
    return made;
}

void watched_vfs_free(void *vfs) {
    sqlite3_vfs_unregister(vfs);
    free(vfs);
}
