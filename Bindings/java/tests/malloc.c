/* Has no memory for the sizes in NO_MEMORY_FOR, such as "2000,3000". For LD_PRELOAD. */
#include <stdlib.h>

extern void *__libc_malloc(size_t);

void *malloc(size_t size) {
    static const char *sizes;
    if (sizes == NULL) sizes = getenv("NO_MEMORY_FOR");
    for (const char *at = sizes; at != NULL && *at != 0;) {
        char *end;
        if (strtoul(at, &end, 10) == size) return NULL;
        at = *end == ',' ? end + 1 : end;
    }
    return __libc_malloc(size);
}
