#pragma once

// libcrypto as Swift sees it: the headers `LibcryptoHandles` uses, and functions for what Swift cannot import (macros).

#include <openssl/evp.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/pem.h>
