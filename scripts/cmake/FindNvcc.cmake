# The compiler of CUDA and its static runtime, for kernels that are objects:
#   ISO_NVCC, ISO_CUDART, ISO_CUDA_INCLUDE_DIR; Nvcc_FOUND
find_program(ISO_NVCC nvcc
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(ISO_NVCC)
  file(REAL_PATH ${ISO_NVCC} nvcc_path)
  cmake_path(GET nvcc_path PARENT_PATH cuda_root)
  cmake_path(GET cuda_root PARENT_PATH cuda_root)
endif()
find_library(ISO_CUDART cudart_static
  HINTS ${cuda_root}/lib64 ${cuda_root}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
find_path(ISO_CUDA_INCLUDE_DIR cuda_runtime_api.h
  HINTS ${cuda_root}/include
    ${cuda_root}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nvcc REQUIRED_VARS ISO_NVCC ISO_CUDART
  ISO_CUDA_INCLUDE_DIR)
mark_as_advanced(ISO_NVCC ISO_CUDART ISO_CUDA_INCLUDE_DIR)
