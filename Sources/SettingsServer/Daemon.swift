/// The daemon: the only place that constructs the parts and wires them.
package enum Daemon {}
