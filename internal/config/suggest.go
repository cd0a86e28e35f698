package config

// suggestion gives ", did you mean …?" for a word that is nearly one of known, else "".
func suggestion(word string, known []string) string {
	best, nearest := len(word)/3+2, "" // further apart than this, a guess is noise
	for _, k := range known {
		if d := distance(word, k); d < best {
			best, nearest = d, k
		}
	}
	if nearest == "" {
		return ""
	}
	return ", did you mean " + nearest + "?"
}

// distance counts the letters to insert, delete or replace to get from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
