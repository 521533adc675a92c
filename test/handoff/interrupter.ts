/**
 * Interruptions at each operation of a program.
 */
export { interruptAt } from "../../src/testing/laws/Interrupter.ts"
