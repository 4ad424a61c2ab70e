#pragma once

#include <openssl/cms.h>
