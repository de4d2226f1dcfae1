// Browser features that JupyterLab's widgets and xterm.js ask for and jsdom does not have.

if (typeof globalThis.ResizeObserver === 'undefined') {
  globalThis.ResizeObserver = class ResizeObserver {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
}

if (
  typeof globalThis.window !== 'undefined' &&
  typeof globalThis.window.matchMedia === 'undefined'
) {
  globalThis.window.matchMedia = query => ({
    matches: false,
    media: query,
    onchange: null,
    addEventListener() {},
    removeEventListener() {},
    addListener() {},
    removeListener() {},
    dispatchEvent() {
      return false;
    }
  });
}
