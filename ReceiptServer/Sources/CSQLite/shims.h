#pragma once
#include <sqlite3.h>

/// Has SQLite not count the memory that it takes: its threads would wait for each other at each piece. Without effect
/// once SQLite is in use.
static inline void ledger_configure(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/// `SQLITE_TRANSIENT`, a cast that Swift does not import: SQLite copies the text before it returns. It takes a text
/// without an address for NULL.
static inline int ledger_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 length) {
    return sqlite3_bind_text64(statement, index, text ? text : "", length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// The same for bytes.
static inline int ledger_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 length) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", length, SQLITE_TRANSIENT);
}
