#include "kernel/cpu/vec_avx512.h"

#define PANEL_TABLE iso__isa_avx512
#include "kernel/cpu/panel_body.h"
