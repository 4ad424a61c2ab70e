/* Verifies the receipt on standard input, under the root certificate that the argument names. */
#include <appstorereceipt.h>
#include <stdio.h>

int main(int count, char **arguments) {
    static char root[4096], evidence[1 << 20];
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (file == NULL) return 2;
    asr_options *options = asr_options_new();
    asr_options_add_environment(options, "production");
    asr_options_add_roots(options, root, fread(root, 1, sizeof root, file));
    asr_verifier *verifier;
    if (asr_verifier_new(options, &verifier, NULL, NULL, NULL) != ASR_VERIFIED) return 2;
    char *json;
    asr_status status = asr_verify(verifier, evidence, fread(evidence, 1, sizeof evidence, stdin), ASR_JSON_FULL, &json, NULL, NULL);
    printf("%s %s\n", asr_version(), json);
    return status;
}
