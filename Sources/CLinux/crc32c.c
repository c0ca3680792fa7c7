// CRC-32C with the instructions of x86-64 and ARMv8. CLinux.h documents the functions.
#include "CLinux.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <string.h>

bool has_crc32c(void) { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2")))
uint32_t crc32c_update(uint32_t crc, const uint8_t *bytes, size_t count) {
    uint64_t wide = crc;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; count > 0; bytes++, count--) crc = _mm_crc32_u8(crc, *bytes);
    return crc;
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <string.h>
#include <sys/auxv.h>
#include <asm/hwcap.h>

bool has_crc32c(void) { return getauxval(AT_HWCAP) & HWCAP_CRC32; }

__attribute__((target("crc")))
uint32_t crc32c_update(uint32_t crc, const uint8_t *bytes, size_t count) {
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        crc = __crc32cd(crc, word);
    }
    for (; count > 0; bytes++, count--) crc = __crc32cb(crc, *bytes);
    return crc;
}

#else

// This type of processor has no CRC-32C instruction. Callers check `has_crc32c` before they call `crc32c_update`.
bool has_crc32c(void) { return false; }
uint32_t crc32c_update(uint32_t crc, const uint8_t *bytes, size_t count) { return crc; }

#endif
