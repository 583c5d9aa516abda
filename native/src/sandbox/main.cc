#include "sandbox/run.h"

int main(int count, char** arguments) { return aana::sandbox::Run(count, arguments); }
