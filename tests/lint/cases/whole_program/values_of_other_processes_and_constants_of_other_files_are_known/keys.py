COORDINATES = "relative_coordinates"
