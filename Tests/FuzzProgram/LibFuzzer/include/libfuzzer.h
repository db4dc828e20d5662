// What libFuzzer offers to a program that has a main of its own (LLVM, "libFuzzer: using libFuzzer as
// a library"), and that Swift has no module for.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Runs the fuzzer until its options say that it is over; the options are those of the command line.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

// Changes `data` in place, to be called by a mutator of one's own; returns the new size.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maximum);
