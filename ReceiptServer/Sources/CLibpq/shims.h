#pragma once
#include <libpq-fe.h>
#include <poll.h>

/// `PG_DIAG_SQLSTATE`, a character that Swift imports as another type.
static inline const char *ledger_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
