{
  # For users of node-gyp: runs the same CMake build, which makes build/Release/aana_native.node. The package itself is
  # built with `aana-host build-native`.
  "targets": [
    {
      "target_name": "aana_native_build",
      "type": "none",
      "actions": [
        {
          "action_name": "build_native",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["build/Release/aana_native.node"],
          "action": ["node", "bundle/host/cli/main.js", "build-native"]
        }
      ]
    }
  ]
}
