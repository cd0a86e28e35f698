package english

import "fmt"

// Fall writes how a share in percent fell: "from 97% to 60%", or "at about 97%" where whole numbers show no difference.
func Fall(from, to float64) string {
	first, last := fmt.Sprintf("%.0f%%", from), fmt.Sprintf("%.0f%%", to)
	if first == last {
		return "at about " + first
	}
	return "from " + first + " to " + last
}
