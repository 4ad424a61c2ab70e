// The header in C++, and a library that is loaded, unloaded and loaded again at run time. usage: loading LIBRARY
#include <appstorereceipt.h>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

int main(int, char **arguments) {
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) return std::puts(dlerror()), 1;
        auto version = reinterpret_cast<decltype(&asr_version)>(dlsym(library, "asr_version"));
        auto abi = reinterpret_cast<decltype(&asr_abi_version)>(dlsym(library, "asr_abi_version"));
        auto make = reinterpret_cast<decltype(&asr_options_new)>(dlsym(library, "asr_options_new"));
        auto add = reinterpret_cast<decltype(&asr_options_add_environment)>(dlsym(library, "asr_options_add_environment"));
        auto shared = reinterpret_cast<decltype(&asr_verifier_shared)>(dlsym(library, "asr_verifier_shared"));
        auto verify = reinterpret_cast<decltype(&asr_verify)>(dlsym(library, "asr_verify"));
        asr_options *options = make();
        asr_verifier *verifier;
        asr_error error;
        add(options, "production");
        if (std::strcmp(version(), ASR_VERSION) || abi() != ASR_ABI_VERSION) return 2;
        if (shared(options, &verifier, nullptr, nullptr, &error) != ASR_VERIFIED) return std::puts(error.code), 3;
        if (verify(verifier, "", 0, ASR_JSON_NONE, nullptr, nullptr, &error) != ASR_REFUSED) return 4;
        if (std::strcmp(error.code, "empty-input") || dlclose(library)) return 5;
    }
    std::puts("C++; dlopen() and dlclose() three times");
}
