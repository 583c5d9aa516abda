# llama.cpp's library for images in prompts, of the same release as its other libraries, which are published without this one.

set(AANA_MTMD_DIR ${AANA_LLAMA_DIR}/tools/mtmd)
file(GLOB AANA_MTMD_MODELS CONFIGURE_DEPENDS ${AANA_MTMD_DIR}/models/*.cpp)
# Its helpers are left out, because they parse files of images, audio and video and start processes.
add_library(mtmd STATIC ${AANA_MTMD_DIR}/mtmd.cpp ${AANA_MTMD_DIR}/mtmd-audio.cpp ${AANA_MTMD_DIR}/mtmd-image.cpp ${AANA_MTMD_DIR}/clip.cpp
            ${AANA_MTMD_MODELS})
target_include_directories(mtmd SYSTEM PUBLIC ${AANA_MTMD_DIR})
# It builds graphs, which ggml computes.
target_compile_options(mtmd PRIVATE -w ${AANA_FAST_COMPILATION})
target_link_libraries(mtmd PUBLIC llama ggml Threads::Threads)
