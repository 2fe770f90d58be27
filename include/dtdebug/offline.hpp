// Reads the black boxes of a run directory, of a dead job or a live one, and diagnoses them.
#pragma once

#include <dtdebug/report/exit_class.hpp>
#include <dtdebug/report/json.hpp>
#include <dtdebug/report/text.hpp>
#include <dtdebug/watch/autopsy.hpp>
