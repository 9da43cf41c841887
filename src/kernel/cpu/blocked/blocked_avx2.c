#include "kernel/cpu/light_vec_avx2.h"

#define BLOCKED_TABLE iso__blocked_avx2
#include "kernel/cpu/blocked/blocked_body.h"
