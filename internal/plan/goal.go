package plan

// Goal is where a plan leads.
type Goal string

// The goals.
const (
	Down Goal = "down"
	Up   Goal = "up"
)
