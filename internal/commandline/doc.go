// Package commandline refuses what the flag package would pass over. It decides nothing else.
package commandline
