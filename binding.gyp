{
  # For users of node-gyp in a clone: installs what the build needs and runs the same CMake build, which makes
  # build/Release/aana_native.node. An installed package is built with `aana-host build-native`.
  "targets": [
    {
      "target_name": "aana_native_build",
      "type": "none",
      "actions": [
        {
          "action_name": "build_native",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["build/Release/aana_native.node"],
          "action": ["node", "host/bootstrap/start.mjs", "build-native"]
        }
      ]
    }
  ]
}
