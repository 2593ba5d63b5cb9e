// Checks of what may come from a stranger's file, or from a page: shapes, weights and requests.
#pragma once

#include <string>

#include "model.h"
#include "search.h"

namespace dragoman {

// Raise Unusable for a shape that no model has. `weights` is how many the model comes with.
void check(const Shape& shape, Type type, size_t weights);
// Raise Unusable for an unknown type, and for a size that no memory has.
void check(const std::string& name, const Weights& weights);
// Raise Unusable for a request that does not fit a model of this shape.
void check(const Request& request, const Shape& shape);

}  // namespace dragoman
