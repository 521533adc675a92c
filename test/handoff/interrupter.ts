/**
 * Interruptions at each operation of a program.
 */
export { Interrupter } from "../../src/testing/laws/Interrupter.ts"
