# The library for images in prompts, with llama.cpp's mtmd of the same release as its other libraries, which are published without this one. It is a
# third of the addon's code and only needed with a vision projector, so it is loaded at run time where the other libraries are shared.

set(AANA_MTMD_DIR ${AANA_LLAMA_DIR}/tools/mtmd)
file(GLOB AANA_MTMD_MODELS CONFIGURE_DEPENDS ${AANA_MTMD_DIR}/models/*.cpp)
# Its helpers are left out, because they parse files of images, audio and video and start processes.
add_library(mtmd STATIC EXCLUDE_FROM_ALL ${AANA_MTMD_DIR}/mtmd.cpp ${AANA_MTMD_DIR}/mtmd-audio.cpp ${AANA_MTMD_DIR}/mtmd-image.cpp ${AANA_MTMD_DIR}/clip.cpp
            ${AANA_MTMD_MODELS})
target_include_directories(mtmd SYSTEM PUBLIC ${AANA_MTMD_DIR})
# It builds graphs, which ggml computes.
target_compile_options(mtmd PRIVATE -w ${AANA_FAST_COMPILATION})
target_link_libraries(mtmd PUBLIC llama ggml Threads::Threads)

set(AANA_IMAGES_SOURCES native/src/core/llama/vision/mtmd_projector.cc)
if(AANA_PREBUILT_DIR AND NOT AANA_SANITIZE)
  add_library(aana_images MODULE EXCLUDE_FROM_ALL ${AANA_IMAGES_SOURCES})
  set_target_properties(aana_images PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${AANA_OUTPUT_DIR}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(aana_images PRIVATE -Wl,--exclude-libs,ALL)
else()
  add_library(aana_images STATIC ${AANA_IMAGES_SOURCES})
  target_compile_definitions(aana_images INTERFACE AANA_IMAGES_LINKED)
  target_link_libraries(aana_core PUBLIC aana_images)
endif()
target_include_directories(aana_images PRIVATE native/src)
target_compile_options(aana_images PRIVATE ${AANA_WARNINGS} ${AANA_FAST_COMPILATION})
target_link_libraries(aana_images PRIVATE mtmd)
