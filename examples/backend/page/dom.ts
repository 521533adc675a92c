/**
 * Elements, made of names, attributes and children. Text is always text.
 */
type Child = Node | string | undefined

type Attributes = Readonly<Record<string, string | boolean | undefined | ((event: Event) => void)>>

/** Makes an element. `true` sets an attribute without a value, a function is called on the event of that name. */
export const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: ReadonlyArray<Child>
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value)
    else if (value === true) element.setAttribute(key, "")
    else if (value !== undefined && value !== false) element.setAttribute(key, value)
  }
  element.append(...children.filter((child) => child !== undefined))
  return element
}

/** Finds an element of the page, which has to be there. */
export const find = <A extends HTMLElement = HTMLElement>(id: string): A => {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`The page has no #${id}`)
  return element as A
}

/** Says a text, unless it is said already: who listens to the page hears it once. */
export const say = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text
}
