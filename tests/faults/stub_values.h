/* stub_values.h - part of the stub driver: elements of every type, by the conversions that
 * templates use (stub_proof.cc). */
#ifndef STUB_VALUES_H
#define STUB_VALUES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Element `at` of data; the type is a code of enum gt_dtype.  Stored values are rounded. */
double stub_load(const void *data, long long at, int type);
void stub_store(void *data, long long at, int type, double value);

/* `count` vectors of `depth` numbers, one behind the other: element k of vector i is element
 * begin + i * ld + k of data, or without `along` begin + k * ld + i.  malloc'ed. */
double *stub_vectors(const void *data, long long begin, long long count, long long depth,
                     long long ld, int along, int type);

long long stub_bytes(int type); /* of an element */
double stub_saturate(double x, int type);

#ifdef __cplusplus
}
#endif

/* Of a function whose loops take most of the time: made for wider vectors, too, which the processor
 * that runs it may have.  Sums stay the same, since multiplying and adding stay two steps. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define STUB_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define STUB_VECTORS
#endif
#endif
