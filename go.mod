module ebbtide

go 1.26
