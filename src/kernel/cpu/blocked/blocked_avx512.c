#include "kernel/cpu/light_vec_avx512.h"

#define BLOCKED_TABLE iso__blocked_avx512
#include "kernel/cpu/blocked/blocked_body.h"
