#pragma once

/// `dtdebug report DIR [--json]`. `arguments` are those after the command's name. Returns the exit status.
int report_command(int count, char **arguments);
