/**
 * Says how many milliseconds it takes to import modules: a process of its own.
 *
 *     node bench/cold.ts <specifier>…
 */
const start = performance.now()
await Promise.all(process.argv.slice(2).map((specifier) => import(specifier)))
console.log(performance.now() - start)
