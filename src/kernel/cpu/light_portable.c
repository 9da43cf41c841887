#include "kernel/cpu/light_vec_portable.h"

#define LIGHT_TABLE iso__light_portable
#include "kernel/cpu/light_rows_body.h"
