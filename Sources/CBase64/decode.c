#include "CBase64.h"

#if defined(__x86_64__)
#include <immintrin.h>

// Whether a low nibble is in the alphabet depends on the high nibble. The bits of `faults_of_lower` stand for the high
// nibbles 2 (`+` and `/`), 3 (digits), 4 and 6, 5 and 7 (letters), and all others.

__attribute__((target("avx2")))
static size_t decode_groups(const uint8_t *text, size_t text_count, uint8_t *output, size_t output_count, uint32_t *found) {
    const __m256i half = _mm256_set1_epi8(0x0F);
    const __m256i faults_of_lower = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A));
    const __m256i kind_of_upper = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
    // Added to a character to get its six bits, by its high nibble; `/` has 1.
    const __m256i distances = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 63 - '/', 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i bytes_in_order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    const __m256i words_in_order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    __m256i pluses = _mm256_setzero_si256(), slashes = _mm256_setzero_si256();
    size_t group = 0;
    while (text_count >= 32 && output_count >= 32) {
        const __m256i characters = _mm256_loadu_si256((const __m256i *)(text + 32 * group));
        const __m256i upper = _mm256_and_si256(_mm256_srli_epi32(characters, 4), half);
        const __m256i lower = _mm256_and_si256(characters, half);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(faults_of_lower, lower), _mm256_shuffle_epi8(kind_of_upper, upper))) break;
        const __m256i is_slash = _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('/'));
        slashes = _mm256_or_si256(slashes, is_slash);
        pluses = _mm256_or_si256(pluses, _mm256_cmpeq_epi8(characters, _mm256_set1_epi8('+')));
        const __m256i sextets = _mm256_add_epi8(
            characters, _mm256_shuffle_epi8(distances, _mm256_add_epi8(upper, is_slash)));
        // Packs four sextets into two values of 12 bits, and these into 24 bits of a word.
        const __m256i pairs = _mm256_maddubs_epi16(sextets, _mm256_set1_epi32(0x01400140));
        const __m256i words = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(words, bytes_in_order), words_in_order);
        _mm256_storeu_si256((__m256i *)(output + 24 * group), bytes);
        group += 1;
        text_count -= 32;
        output_count -= 24;
    }
    *found = (_mm256_testz_si256(pluses, pluses) ? 0 : CBASE64_PLUS) | (_mm256_testz_si256(slashes, slashes) ? 0 : CBASE64_SLASH);
    return group;
}

size_t cbase64_decode_groups(const uint8_t *text, size_t text_count, uint8_t *output, size_t output_count, uint32_t *found) {
    *found = 0;
    return __builtin_cpu_supports("avx2") ? decode_groups(text, text_count, output, output_count, found) : 0;
}

#else

size_t cbase64_decode_groups(const uint8_t *text, size_t text_count, uint8_t *output, size_t output_count, uint32_t *found) {
    (void)text, (void)text_count, (void)output, (void)output_count;
    *found = 0;
    return 0;
}

#endif
