#include "kernel/cpu/vec_avx2.h"

#define PANEL_TABLE iso__isa_avx2
#include "kernel/cpu/panel_body.h"
