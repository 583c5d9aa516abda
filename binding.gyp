{
  # For people who work with node-gyp: it runs the same CMake build, which ends in build/Release/aana_native.node.
  # The package itself builds with `aana-host build-native`.
  "targets": [
    {
      "target_name": "aana_native_build",
      "type": "none",
      "actions": [
        {
          "action_name": "build_native",
          "inputs": ["CMakeLists.txt"],
          "outputs": ["build/Release/aana_native.node"],
          "action": ["node", "dist/host/cli/main.js", "build-native"]
        }
      ]
    }
  ]
}
