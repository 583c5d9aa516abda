# The addon. Only this code includes napi.h.
file(GLOB_RECURSE AANA_BINDING_SOURCES CONFIGURE_DEPENDS native/src/binding/*.cc)
add_library(aana_native SHARED ${AANA_BINDING_SOURCES} ${CMAKE_JS_SRC})
set_target_properties(aana_native PROPERTIES
  PREFIX "" SUFFIX ".node"
  LIBRARY_OUTPUT_DIRECTORY ${AANA_OUTPUT_DIR}
  BUILD_WITH_INSTALL_RPATH ON)
target_include_directories(aana_native SYSTEM PRIVATE ${CMAKE_JS_INC} ${AANA_NAPI_DIR})
target_compile_options(aana_native PRIVATE ${AANA_WARNINGS} ${AANA_FAST_COMPILATION})
target_compile_definitions(aana_native PRIVATE
  NAPI_VERSION=8
  NODE_ADDON_API_CPP_EXCEPTIONS_ALL
  NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
target_link_libraries(aana_native PRIVATE aana_core ${CMAKE_JS_LIB})
if(APPLE)
  set_target_properties(aana_native PROPERTIES INSTALL_RPATH "@loader_path")
  target_link_options(aana_native PRIVATE -undefined dynamic_lookup)
elseif(UNIX)
  set_target_properties(aana_native PROPERTIES INSTALL_RPATH "$ORIGIN")
  target_link_options(aana_native PRIVATE -Wl,--exclude-libs,ALL)
endif()

# Starts child processes that die with their parent.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/native/src/launcher/launcher.c)
  add_executable(aana-launcher native/src/launcher/launcher.c)
  set_target_properties(aana-launcher PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${AANA_OUTPUT_DIR} C_STANDARD 11)
  target_compile_options(aana-launcher PRIVATE ${AANA_WARNINGS})
endif()

# What deployments with a vision projector need, too.
add_custom_target(aana_with_images)
add_dependencies(aana_with_images aana_native aana_images)
if(TARGET aana-launcher)
  add_dependencies(aana_with_images aana-launcher)
endif()
