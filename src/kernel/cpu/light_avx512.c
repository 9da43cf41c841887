#include "kernel/cpu/light_vec_avx512.h"

#define LIGHT_TABLE iso__light_avx512
#include "kernel/cpu/light_rows_body.h"
