// The version of both the daemon's `--version` and its status; the only place that states it.

/// relayd's own version, by the rules of semver.org.
package let relaydVersion = "0.1.0"
