/* What a call costs, in microseconds: the least of several rounds. usage: benchmark FILE ROOT */
#define _GNU_SOURCE
#include <appstorereceipt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned char *read_file(const char *name, size_t *length) {
    FILE *file = fopen(name, "rb");
    if (!file) exit(2);
    unsigned char *bytes = malloc(1 << 24);
    *length = fread(bytes, 1, 1 << 24, file);
    fclose(file);
    return bytes;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    size_t length, root_length;
    unsigned char *evidence = read_file(arguments[1], &length), *root = read_file(arguments[2], &root_length);
    asr_options *options = asr_options_new();
    asr_options_add_environment(options, "production");
    asr_options_add_roots(options, root, root_length);
    asr_verifier *verifier;
    if (asr_verifier_new(options, &verifier, NULL, NULL, NULL) != ASR_VERIFIED) return 2;
    static const char *const names[] = {"C, full JSON", "C, brief JSON", "C, no JSON"};
    for (uint32_t flags = 3; flags-- > 0;) {
        double least = 1e9;
        for (int round = 0; round < 20; round++) {
            double start = now();
            for (int i = 0; i < 500; i++) {
                char *json;
                if (asr_verify(verifier, evidence, length, flags, &json, NULL, NULL) != ASR_VERIFIED) return 1;
                asr_free(json);
            }
            double each = (now() - start) / 500;
            if (each < least) least = each;
        }
        printf("%-24s %6.1f µs\n", names[flags], least);
    }
}
