#include "kernel/cpu/light_vec_avx2.h"

#define LIGHT_TABLE iso__light_avx2
#include "kernel/cpu/light_rows_body.h"
